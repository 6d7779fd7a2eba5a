"""Admin operations in a run: what they mean now, asked for, recorded; scripts that wait between them."""
