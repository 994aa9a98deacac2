module race

go 1.19
