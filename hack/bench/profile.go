package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"
)

// profile saves where the gateway spends time and memory while 8 agents call it, in each era.
func (w *world) profile(ctx context.Context) error {
	if err := os.MkdirAll(w.profiles, 0o755); err != nil {
		return err
	}
	for _, era := range eras {
		loaded, longer := *w, *w.options
		longer.window = 12 * time.Second
		loaded.options = &longer
		measured := make(chan error, 1)
		go func() {
			_, err := loaded.measure(ctx, w.gateway, era, 8)
			measured <- err
		}()
		var errs []error
		for name, path := range map[string]string{"cpu": "profile?seconds=8", "allocations": "allocs?seconds=2"} {
			page, err := fetch(ctx, w.pprof+path)
			if err == nil {
				err = os.WriteFile(filepath.Join(w.profiles, era+"."+name+".pprof"), page, 0o600)
			}
			errs = append(errs, err)
		}
		if err := errors.Join(append(errs, <-measured)...); err != nil {
			return fmt.Errorf("%s: %w", era, err)
		}
	}
	return nil
}
