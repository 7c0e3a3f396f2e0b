module scenario

go 1.19

require gopkg.in/validator.v2 v2.0.1
