//! Admission of talosetcdbackups (DESIGN section 4).
