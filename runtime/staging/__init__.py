"""The backend of autograph: stages control flow of converted code on tensors."""
