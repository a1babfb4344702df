// Package beside says where a release has the files that the program needs beside it.
package beside

import (
	"fmt"
	"os"
	"path/filepath"
)

// Path returns where a release has a file or folder: ../lib/wiretime/NAME, seen from the folder of
// this program. It need not be there. The error says that the system does not tell where the program is.
func Path(name string) (string, error) {
	program, err := os.Executable()
	if err != nil {
		return "", fmt.Errorf("find what is beside the program: %w", err)
	}
	return filepath.Join(filepath.Dir(filepath.Dir(program)), "lib", "wiretime", name), nil
}
