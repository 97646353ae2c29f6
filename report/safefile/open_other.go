//go:build !unix

package safefile

import "os"

const readFlags = os.O_RDONLY
