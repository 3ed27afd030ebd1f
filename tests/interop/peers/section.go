// The data that the lock protects: see ../section.h.
package main

import (
	"io"
	"os"
	"strconv"
	"time"
)

type section struct {
	file string
	who  string
}

func (s section) awaitGo() {
	for {
		if _, err := os.Stat(s.file + ".go"); err == nil {
			return
		}
		time.Sleep(time.Millisecond)
	}
}

func (s section) enter() (bool, error) {
	inside, err := os.OpenFile(s.file+".inside", os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0600)
	if os.IsExist(err) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	return true, inside.Close()
}

func (s section) goThrough() error {
	alone, err := s.enter()
	if err != nil {
		return err
	}
	number, err := os.OpenFile(s.file, os.O_CREATE|os.O_RDWR, 0600)
	if err != nil {
		return err
	}
	defer number.Close()
	text, err := io.ReadAll(number)
	if err != nil {
		return err
	}
	before, _ := strconv.Atoi(string(text)) // 0 at the beginning
	if err := s.log(alone); err != nil {
		return err
	}
	if _, err := number.WriteAt([]byte(strconv.Itoa(before+1)), 0); err != nil {
		return err
	}
	if !alone {
		return nil
	}
	return os.Remove(s.file + ".inside")
}

func (s section) log(alone bool) error {
	log, err := os.OpenFile(s.file+".log", os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0600)
	if err != nil {
		return err
	}
	defer log.Close()
	who := s.who
	if !alone {
		who = "!" + who
	}
	_, err = log.WriteString(who)
	return err
}
