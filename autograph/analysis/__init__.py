"""What is known of code before it is changed: scopes, liveness, definite assignment. No tree is changed here."""
