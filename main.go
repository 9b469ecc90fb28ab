// Mooring keeps connections to MCP servers as Kubernetes resources. See README.md.
package main

import (
	"os"

	"github.com/mooring-dev/mooring/internal/cli"
)

func main() { os.Exit(cli.Main()) }
