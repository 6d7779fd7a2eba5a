"""What drawings and tables read from a history: calls, spans, leaders, values in words."""
