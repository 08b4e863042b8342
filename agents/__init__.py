"""Who speaks: the code generator, the safety reviewer, the code executor and the user proxy."""
