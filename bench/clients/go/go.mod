module bench

go 1.18

require elapse v0.3.0

replace elapse => ../../../clients/go

require github.com/gomodule/redigo v1.8.3

replace github.com/gomodule/redigo => /usr/share/gocode/src/github.com/gomodule/redigo
