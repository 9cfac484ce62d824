"""What the depth study says of each claim that was made of deep self-attention."""
