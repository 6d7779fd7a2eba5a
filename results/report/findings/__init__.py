"""What anomalies were found: cards with witnesses, tales of causes, and pictures beside them."""
