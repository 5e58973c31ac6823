package main

func makeNoiseOnSignals() {}
