//go:build !linux

package statedir

const tethers = false

func tie() error { return nil }
