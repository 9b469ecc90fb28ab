package secret

import (
	"fmt"
	"reflect"
	"strconv"
)

// FingerprintOf returns the Fingerprint of everything that value holds, secrets included: every field of a struct and
// every element of a slice, in order. Only a field with the tag `fingerprint:"-"` does not count. A value with a method
// Fingerprint() string counts as what that gives. A kind of value that it does not know panics, so that no field can
// be forgotten.
func FingerprintOf(value any) string { return Fingerprint(parts(reflect.ValueOf(value), nil)...) }

func parts(value reflect.Value, out []string) []string {
	switch known := value.Interface().(type) {
	case nil:
		return append(out, "")
	case Value:
		return append(out, known.text)
	case []byte:
		return append(out, string(known))
	case interface{ Fingerprint() string }:
		return append(out, known.Fingerprint())
	}
	switch value.Kind() {
	case reflect.String:
		return append(out, value.String())
	case reflect.Slice:
		out = append(out, strconv.Itoa(value.Len()))
		for i := range value.Len() {
			out = parts(value.Index(i), out)
		}
		return out
	case reflect.Struct:
		for i := range value.NumField() {
			if value.Type().Field(i).Tag.Get("fingerprint") != "-" {
				out = parts(value.Field(i), out)
			}
		}
		return out
	default: // a kind that no configuration has yet
		panic(fmt.Sprintf("fingerprint of a %s", value.Type()))
	}
}
