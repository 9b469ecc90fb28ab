package session

type callSession struct{}

func (c *callSession) drain(error) {}
