"""Measurements behind a lesson's claims: pure, seeded functions, a module a lesson; each takes well under a second."""
