//! Admission of talosconfigpatches (DESIGN section 4).
