"""What drawings and tables read from a history: calls, spans, leaders, texts of values."""
