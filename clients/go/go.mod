module elapse

go 1.19

require github.com/gomodule/redigo v1.8.3

replace github.com/gomodule/redigo => /usr/share/gocode/src/github.com/gomodule/redigo
