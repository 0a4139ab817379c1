module payment-initiation-service/tools/judges/bai2

go 1.25.0

require github.com/moov-io/bai2 v0.4.0
