"""What an encoding does, and what a trained model does with it: measurements from outside."""
