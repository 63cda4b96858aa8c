//! Admission of talosaccessrequests (DESIGN section 4).
