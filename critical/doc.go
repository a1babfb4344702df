// Package critical finds the critical path of a page load.
package critical
