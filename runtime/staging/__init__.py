"""The backend of autograph: control flow of converted code on tensors becomes graph."""
