package store

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"errors"
	"io"
	"strconv"
	"testing"
	"time"

	"github.com/parquet-go/parquet-go"
	"github.com/parquet-go/parquet-go/format"

	"wiretime/network"
	"wiretime/study"
)

// TestExportParquetHoldsTheSameRows reads the rows back and compares them with those of the CSV.
func TestExportParquetHoldsTheSameRows(t *testing.T) {
	var out bytes.Buffer
	if err := exportStore(t).ExportParquet(&out, 1); err != nil {
		t.Fatal(err)
	}
	file, err := parquet.OpenFile(bytes.NewReader(out.Bytes()), int64(out.Len()))
	if err != nil {
		t.Fatal(err)
	}
	records, err := csv.NewReader(bytes.NewBufferString(wantCSV)).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	reader := parquet.NewReader(file)
	defer reader.Close()
	rows := make([]parquet.Row, len(records))
	n, err := reader.ReadRows(rows)
	if !errors.Is(err, io.EOF) || n != len(records)-1 {
		t.Fatalf("%d rows and error %v, want %d", n, err, len(records)-1)
	}
	if len(file.Schema().Fields()) != len(records[0]) {
		t.Fatalf("%d columns, want %d", len(file.Schema().Fields()), len(records[0]))
	}
	for i, field := range file.Schema().Fields() {
		if name := records[0][i]; field.Name() != name {
			t.Errorf("column %d is %s, want %s", i, field.Name(), name)
		}
		for j, row := range rows[:n] {
			if got, want := parquetText(field, row[i]), records[j+1][i]; got != want {
				t.Errorf("row %d: %s is %q, want %q", j, field.Name(), got, want)
			}
		}
	}
	about, ok := file.Lookup("wiretime")
	var document struct {
		Run     struct{ Study, Seed string }
		Metrics []struct{ Name, Unit string }
	}
	if err := json.Unmarshal([]byte(about), &document); !ok || err != nil || document.Run.Seed != "18446744073709551615" || len(document.Metrics) != 2 {
		t.Errorf("the metadata is %s (%v)", about, err)
	}
	if units, _ := file.Lookup("units"); units != `{"link_delay_ms":"ms","wall_ms":"ms"}` {
		t.Errorf("the units are %s", units)
	}
}

// parquetText returns a value as the CSV has it.
func parquetText(field parquet.Field, v parquet.Value) string {
	var logical format.LogicalTypeValue
	if t := field.Type().LogicalType(); t != nil {
		logical = t.Value
	}
	if v.IsNull() {
		return ""
	}
	switch logical := logical.(type) {
	case *format.TimestampType:
		return time.Unix(0, v.Int64()).UTC().Format(time.RFC3339Nano)
	case *format.IntType:
		if !logical.IsSigned {
			return strconv.FormatUint(v.Uint64(), 10)
		}
	}
	if v.Kind() == parquet.Double {
		return decimal(v.Double())
	}
	return v.String()
}

// TestValuesHaveTheTypesOfTheirColumns makes the rows of a cell of each workload.
func TestValuesHaveTheTypesOfTheirColumns(t *testing.T) {
	fields := parquetSchema().Fields()
	for _, w := range study.Workloads() {
		cell := study.NewCell(w, map[study.Axis]string{}, network.Path{})
		for i, v := range about(Run{}, &Load{Cell: cell}) {
			switch value := parquetValue(i, v); {
			case value.IsNull() && !fields[i].Optional():
				t.Errorf("%s: %s is null, which its column cannot be", w.Name, header[i])
			case !value.IsNull() && value.Kind() != fields[i].Type().Kind():
				t.Errorf("%s: %s is a %v in a column of %v", w.Name, header[i], value.Kind(), fields[i].Type())
			}
		}
	}
}
