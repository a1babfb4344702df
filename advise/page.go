package advise

// WritePage writes the advice as one HTML file, whole or not at all.
func (a *Advice) WritePage(path, version string) error { return nil }
