"""What may run: the fence parser, the rules, the verdicts, the gate. Pure: text in, findings out."""
