package lab

import (
	"fmt"
	"os"
	"testing"
)

func TestMain(m *testing.M) {
	Helper()
	if _, err := Enter(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(m.Run())
}
