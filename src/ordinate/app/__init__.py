"""The app: pages that draw what a store holds. Training happens in processes of its own, never here."""
