"""What a lesson is made of, how an exercise is checked, and how a lesson becomes a notebook."""
