package verdict

import "testing"

func TestClaimValidity(t *testing.T) {
	judgeStories(t, ClaimValidity, []telling{
		{"a grant of the client's own session is valid", `
			opened 1 101
			acquire 1 5 0 10`, Pass, ""},
		{"a grant without a token is a claim without a node", `
			opened 1 101
			acquire 1 0 0 10`, Fail, "token 0 (record 2)"},
		{"a grant that was asked for after the loss was delivered is invalid", `
			opened 1 101
			note lost 1 5
			acquire 1 5 6 10`, Fail, "5ms after it was told that session 0x65 was gone (record 2)"},
		{"a grant that returned while the loss was being delivered is no proof", `
			opened 1 101
			note lost 1 5
			acquire 1 5 0 10`, Pass, ""},
		{"a grant that returned long after the loss is invalid", `
			opened 1 101
			note lost 1 5
			acquire 1 5 0 2000`, Fail, "1.995s after"},
		{"a grant that names no session is an invalid claim", "acquire 1 5 0 10\nopened 2 7", Fail, "without a node"},
		{"no grant, no verdict", "opened 1 101\nacquire 1 5 0 10 failed", Unknown, "nothing was granted"},
	})
}

func TestClaimValidityOfAGrantFromAnotherSession(t *testing.T) {
	h := story(t, "opened 1 101\nacquire 1 5 5000 5010\nopened 1 102\nopened 1 103\nacquire 1 6 9000 9010")
	for n, err := range h.Records {
		if err != nil {
			t.Fatal(err)
		}
		if n.N == 5 {
			n.Sample.Session = 101
		}
	}
	for _, v := range Judge(h) {
		if v.Guarantee == ClaimValidity && v.Result != Fail {
			t.Errorf("got %+v", v)
		}
	}
}
