package main

import (
	"fmt"
	"strings"
	"testing"
)

// TestRunExaminesTheMachine has a run on the real clock find out how punctual the machine
// is, once, and keep what it found. How punctual it is does not matter.
func TestRunExaminesTheMachine(t *testing.T) {
	t.Parallel()
	u := self(t)
	u.addPage(t)
	study := strings.NewReplacer("[chromium]", "[builtin]", "http/1.1, https/1.1, h2, h3", "h2").Replace(fmt.Sprintf(smallStudy, 1, "50ms"))
	r := finish(t, u.program(t.Context(), binary, "run", u.write(t, "study.yaml", study), "--store", "kept", "--wait", "1ns"))
	if r.code != 0 {
		t.Fatalf("exit code %d: %s", r.code, r.errors)
	}
	if n := strings.Count(r.errors, "This machine: wake-ups are late by "); n != 1 {
		t.Errorf("it says %d times how punctual the machine is:\n%s", n, r.errors)
	}
	exported := u.run(t, "export", "json", "--store", "kept")
	for _, want := range []string{`"punctuality"`, `"P99"`, `"processors_kept_awake"`, `"processors_others"`, `"pressure"`, `"unchecked"`, `"taken_shift"`, `"late_shift"`} {
		if !strings.Contains(exported.out, want) {
			t.Errorf("%s is not in what was kept", want)
		}
	}
}

// TestDoctorSaysWhichClockSuits asks for the figures and the verdict, whatever it is.
func TestDoctorSaysWhichClockSuits(t *testing.T) {
	t.Parallel()
	r := self(t).run(t, "doctor")
	for _, want := range []string{"punctuality: left alone, wake-ups are late by ", "(p50)", "(p99)", "(worst)", "it suits "} {
		if !strings.Contains(r.out, want) {
			t.Errorf("%q is not in\n%s", want, r.out)
		}
	}
	if strings.Contains(r.out, `\x`) {
		t.Errorf("something is escaped in\n%s", r.out)
	}
}

// TestWithoutPressure runs the doctor where the kernel does not tell of pressure, as in
// some containers.
func TestWithoutPressure(t *testing.T) {
	t.Parallel()
	u := self(t)
	r := finish(t, u.program(t.Context(), "unshare", "--user", "--map-root-user", "--mount", "sh", "-c",
		`mount -t tmpfs none /proc/pressure && exec "$0" doctor`, binary))
	if n := strings.Count(r.out, "/proc/pressure/cpu cannot be read: the machine's processor pressure is not stored"); n != 1 {
		t.Errorf("it is said %d times, want once:\n%s%s", n, r.out, r.errors)
	}
}
