//! Admission of talosstorages (DESIGN section 4).
