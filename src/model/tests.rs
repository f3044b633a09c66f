//! Parameters of shapes counted by hand.
