"""The app: pages that show a store. Training runs in separate processes, never here."""
