package verdict

import "testing"

func TestFanOut(t *testing.T) {
	const grant = "opened 1 101\nacquire 1 5 0 10\nphase drain 100 900\n"
	judgeStories(t, FanOut, []row{
		{"exactly the formula is well", grant + "fan 200 9 9", Pass, ""},
		{"one fewer is well, because watches coalesce", grant + "fan 200 8 9", Pass, ""},
		{"one more is a herd", grant + "fan 200 10 9", Fail, "10 notifications in 9 hand-offs, the formula allows 9 (record 5)"},
		{"a round with a fault in force is not judged", grant + "fault freeze 1 150 160\nfan 200 99 9", Unknown, "all 1 rounds"},
		{"a fault of the phase before disturbs nothing", "opened 1 101\nacquire 1 5 0 10\nfault flap 1 10 20\nphase churn 10 30\nphase drain 20000 20900\nfan 20200 10 9", Fail, "10 notifications"},
		{"a fault after the round disturbs nothing", grant + "fan 200 10 9\nfault freeze 1 300 400", Fail, "10 notifications"},
		{"without a count the guarantee is not at stake", grant, "", ""},
	})
}
