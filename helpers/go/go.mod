module github.com/pleach/pleach/helpers/go

go 1.24
