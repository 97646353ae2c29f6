package facts

import "testing"

func TestNode_sequential(t *testing.T) {
	for path, want := range map[string]bool{
		"/l/n-0000000000": true, "/l/n--000000001": true, "/l/n-2147483647": true, "/l/lock": false, "/l/n-00000000": false, "/l/n-000000000x": false,
	} {
		if got := (&Node{Path: path}).Sequential(); got != want {
			t.Errorf("%s: %v", path, got)
		}
	}
}

// Nodes of one recipe are of one kind, whatever ids it draws; those that do not contend are not.
func TestKind(t *testing.T) {
	for _, row := range []struct {
		a, b  string
		alike bool
	}{
		{"/l/_c_e4bfd934-5fb0-4ce7-9fca-d72367e2312c-lock-0000000291", "/l/_c_e64cf688-5e68-4756-ba98-99470205dd29-lock-0000000294", true},
		{"/l/01ARZ3NDEKTSV4RRFFQ69G5FAV-0000000001", "/l/01BX5ZZKBKACTAV9WEVGEMMVRZ-0000000002", true},
		{"/l/qwrtzpsxghjklmnvyqwrt-0000000001", "/l/zpsxghjklmnvyqwrtqwrt-0000000002", true},
		{"/l/leadershipCandidate-0000000001", "/l/connectedParticipant-0000000002", false},
		{"/l/leadershipCandidate-0000000001", "/l/leadershipCandidate-0000000002", true},
		{"/l/kqXaQzePlMiRtuVwSdo-0000000001", "/l/ZaKqIwRtUpLoMnEbVcx-0000000002", true},
		{"/l/n-2147483647", "/l/n--2147483648", true},
		{"/l/readLockNode0000000001", "/l/writeLockNode0000000002", false},
		{"/l/host-0000000001", "/l/lock-0000000002", false},
		{"/l/27010772-1a1b-45ee-a742-865154369498", "/l/9fd6f189-5cd5-4a81-a6b0-f568ec9913d1", true},
		{"/l/k3F_q9zTab-lease-0000000001", "/l/Zx-kqWvRtA-lease-0000000002", true},
		{"/l/alice-lease-0000000001", "/l/bob-lease-0000000002", true},
		{"/l/k3F_q9zTab-r-0000000001", "/l/x8Q_m2aTrb-w-0000000002", false},
		{"/l/k3Fq9zTab-0000000001", "/l/7hQm2aTrb0000000002", true},
		{"/l/lock-k3Fq9zTab-0000000001", "/l/lock-7hQm2aTrb-0000000002", true},
		{"/l/lock-k3Fq9zTab-0000000001", "/l/host-7hQm2aTrb-0000000002", false},
		{"/l/e4bfd9345fb04ce79fcad72367e2312c__rlock__0000000001", "/l/0123456789abcdef0123456789abcdef__lock__0000000002", false},
		{"/l/_c_e4bfd934-5fb0-4ce7-9fca-d72367e2312c-__READ__0000000001", "/l/_c_e64cf688-5e68-4756-ba98-99470205dd29-__WRIT__0000000002", false},
		{"/l/_c_e4bfd9345fb04ce79fcad72367e2312c-lock-0000000001", "/l/_c_0123456789abcdef0123456789abcdef-lock-0000000002", true},
		{"/l/aliceXX0000000012", "/l/aliceXX0000000013", true},
		{"/l/alice70000000012", "/l/alice90000000013", true},
		{"/l/lockdeadbeef0000000012", "/l/lockdeadbeef0000000013", true},
		{"/l/alice7-000000012", "/l/alice70000000013", true}, // after 2147483647
		{"/l/host1-0000000001", "/l/lock1-0000000002", false},
		{"/l/x/lock-0000000001", "/l/y/lock-0000000002", false},
		{"/l/alice-lease", "/l/bob-lease", false},
		{"/l/-0000000001", "/l/0000000002", true},
		{"/l/7e905f756e874fad916765e331200034", "/l/0b71e1c0c86e4d0f8f7e57b3c3a9d6ef", true},
		{"/l/7e905f7566765331", "/l/0b71e1c0c86e4d0f", true},
		{"/l/7e905f0000000031", "/l/0b71e10000000032", true},
	} {
		if got := NodeKind(row.a) == NodeKind(row.b); got != row.alike {
			t.Errorf("%s and %s: %v, %v", row.a, row.b, NodeKind(row.a), NodeKind(row.b))
		}
	}
}
