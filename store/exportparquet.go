package store

import (
	"encoding/json"
	"fmt"
	"io"
	"reflect"
	"time"

	"github.com/parquet-go/parquet-go"
	"github.com/parquet-go/parquet-go/compress/snappy"
)

// ExportParquet writes the same rows as ExportCSV as an Apache Parquet file, with the types of their values: the seed has
// 64 bits without sign, the start is a timestamp in nanoseconds UTC, and texts have dictionaries. What a load has no value of
// is null. The file's metadata holds two JSON documents: "wiretime", what ExportJSON writes besides the rows (the run with
// its study and environment, and the definitions of its metrics), and "units", the units of columns; that of the column value
// is in the row's column unit. Only some of the rows are in memory at a time.
func (s *Store) ExportParquet(w io.Writer, run int64) error {
	if err := s.exportParquet(w, run); err != nil {
		return fmt.Errorf("export run %d as Parquet: %w", run, explain(err))
	}
	return nil
}

// rowGroup is how many rows are compressed together, and in memory at a time.
const rowGroup = 100_000

// parquetUnits are the units of columns whose values all have the same.
var parquetUnits = map[string]string{"wall_ms": "ms", "link_delay_ms": "ms"}

func (s *Store) exportParquet(w io.Writer, id int64) error {
	run, document, err := s.aboutRun(id)
	if err != nil {
		return err
	}
	about, err := json.Marshal(document)
	if err != nil {
		return err
	}
	units, err := json.Marshal(parquetUnits)
	if err != nil {
		return err
	}
	out := parquet.NewWriter(w, parquetSchema(), parquet.Compression(&snappy.Codec{}), parquet.MaxRowsPerRowGroup(rowGroup),
		parquet.CreatedBy("wiretime", run.Version, ""), parquet.KeyValueMetadata("wiretime", string(about)), parquet.KeyValueMetadata("units", string(units)))
	row := make(parquet.Row, len(header))
	set := func(column int, v any) { row[column] = parquetValue(column, v) }
	err = s.eachRow(run, document.Metrics, func(about []any) error {
		for i, v := range about {
			set(i, v)
		}
		return nil
	}, func(metric int, v *float64) error {
		name, unit, value := any(nil), any(nil), any(nil)
		if metric >= 0 {
			name, unit, value = document.Metrics[metric].Name, document.Metrics[metric].Unit, *v
		}
		for i, v := range []any{name, unit, value} {
			set(len(header)-3+i, v)
		}
		_, err := out.WriteRows([]parquet.Row{row})
		return err
	})
	if err != nil {
		return err
	}
	return out.Close()
}

// parquetTypes are the columns of an export, in the order of header.
var parquetTypes = func() []reflect.Type {
	text, number, float := reflect.TypeFor[string](), reflect.TypeFor[int64](), reflect.TypeFor[float64]()
	types := []reflect.Type{number, text, text, number, number, number, reflect.TypeFor[uint64]()}
	for _, c := range axisColumns {
		types = append(types, map[reflect.Kind]reflect.Type{reflect.String: text, reflect.Int: number, reflect.Float64: float}[c.kind])
	}
	return append(types, reflect.TypeFor[time.Time](), float, text, text, text, text, text, float)
}()

// parquetNullable reports whether a column may be null: those of axes, of the worker and of the metric.
func parquetNullable(column int) bool {
	const first = 7 // column of an axis
	return column >= first && column < first+len(axisColumns) || header[column] == "worker" || column >= len(header)-3
}

// parquetSchema describes the rows. Parquet-go keeps the order of a struct's fields.
func parquetSchema() *parquet.Schema {
	fields := make([]reflect.StructField, len(header))
	for i, name := range header {
		tag := name
		if parquetNullable(i) {
			tag += ",optional"
		}
		switch parquetTypes[i] {
		case reflect.TypeFor[string]():
			tag += ",dict"
		case reflect.TypeFor[time.Time]():
			tag += ",timestamp(nanosecond)"
		}
		fields[i] = reflect.StructField{Name: fmt.Sprintf("Column%d", i), Type: parquetTypes[i], Tag: reflect.StructTag(fmt.Sprintf("parquet:%q", tag))}
	}
	return parquet.SchemaOf(reflect.New(reflect.StructOf(fields)).Interface())
}

// parquetValue returns a value of a column, or null.
func parquetValue(column int, v any) parquet.Value {
	var value parquet.Value
	switch v := v.(type) {
	case nil:
		return parquet.NullValue().Level(0, 0, column)
	case int:
		value = parquet.Int64Value(int64(v))
	case int64:
		value = parquet.Int64Value(v)
	case uint64:
		value = parquet.Int64Value(int64(v))
	case float64:
		value = parquet.DoubleValue(v)
	case string:
		value = parquet.ByteArrayValue([]byte(v))
	case time.Time:
		value = parquet.Int64Value(v.UnixNano())
	}
	if parquetNullable(column) {
		return value.Level(0, 1, column)
	}
	return value.Level(0, 0, column)
}
