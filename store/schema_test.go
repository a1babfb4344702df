package store

import (
	"database/sql"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

func TestTheReferenceNamesEveryTableAndColumn(t *testing.T) {
	page, err := os.ReadFile("../docs/store.md")
	if err != nil {
		t.Fatal(err)
	}
	sections := map[string]string{}
	for _, part := range strings.Split(string(page), "\n**")[1:] {
		table, text, _ := strings.Cut(part, "**")
		sections[table] = text
	}
	s := mustOpen(t, filepath.Join(t.TempDir(), "s"), Create)
	defer mustClose(t, s)
	columns, err := query(s, func(rows *sql.Rows) (c [2]string, err error) {
		return c, rows.Scan(&c[0], &c[1])
	}, "SELECT t.name, c.name FROM sqlite_schema t JOIN pragma_table_info(t.name) c WHERE t.type = 'table'")
	if err == nil {
		var viewed [][2]string
		viewed, err = query(s, func(rows *sql.Rows) (c [2]string, err error) {
			return c, rows.Scan(&c[0], &c[1])
		}, "SELECT t.name, c.name FROM sqlite_schema t JOIN pragma_table_info(t.name) c WHERE t.type = 'view'")
		// Views have the columns of axes by the names that exports have, which the page says once.
		columns = append(columns, slices.DeleteFunc(viewed, func(c [2]string) bool {
			return slices.ContainsFunc(viewedAxes(), func(a viewedAxis) bool { return a.name == c[1] })
		})...)
	}
	if err != nil || len(columns) < 80 {
		t.Fatal(len(columns), err)
	}
	for _, c := range columns {
		if !strings.Contains(sections[c[0]], "`"+c[1]+"`") {
			t.Errorf("docs/store.md does not describe %s.%s", c[0], c[1])
		}
	}
}
