package main

import (
	"encoding/csv"
	"strconv"
	"strings"
	"testing"
)

// TestTearDown loads a page with and without the option tear_down. With it, the capture has the round trip in which
// both ends close their connections.
func TestTearDown(t *testing.T) {
	t.Parallel()
	u := self(t)
	u.addKernel(t)
	const text = `name: closed
repeats: 1
clock: virtual
matrix:
  sites: [objects@3x5kB]
  protocols: [http/1.1, https/1.1, h3]
  networks: [{name: far, rate: 10mbit, rtt: 100ms}]
  loaders: [builtin]
options: {tear_down: %}
`
	for option, closes := range map[string]bool{"true": true, "false": false} {
		u.write(t, "study.yaml", strings.ReplaceAll(text, "%", option))
		if r := u.run(t, "run", "study.yaml", "--store", option); r.code != 0 {
			t.Fatalf("exit code %d: %s%s", r.code, r.out, r.errors)
		}
		r := u.run(t, "export", "csv", "--store", option)
		rows, err := csv.NewReader(strings.NewReader(r.out)).ReadAll()
		if err != nil || r.code != 0 {
			t.Fatalf("exit code %d, %v: %s", r.code, err, r.errors)
		}
		column := map[string]int{}
		for i, name := range rows[0] {
			column[name] = i
		}
		values := map[string]map[string]float64{}
		for _, row := range rows[1:] {
			protocol := row[column["protocol"]]
			if values[protocol] == nil {
				values[protocol] = map[string]float64{}
			}
			if v := row[column["value"]]; v != "" {
				values[protocol][row[column["metric"]]], err = strconv.ParseFloat(v, 64)
				if err != nil {
					t.Fatal(err)
				}
			}
		}
		if len(values) != 3 {
			t.Fatalf("the export has %d protocols, want 3: %s", len(values), r.out)
		}
		for protocol, v := range values {
			tow, known := v["tow_closed"]
			if known != closes {
				t.Errorf("tear_down: %s, %s: tow_closed is there: %t", option, protocol, known)
			}
			if beyond := tow - v["plt"]; closes && (beyond < 99 || beyond > 101) {
				t.Errorf("%s: tow_closed is %.3f ms after the last resource, want a round trip of 100 ms", protocol, beyond)
			}
		}
	}
}
