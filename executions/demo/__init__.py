"""Breaks of the demo: faults that are made on purpose, end by themselves and are counted.

pulses   tasks of the demo tenant that fire every second while a break is watched
breaks   begin a break, find the last one, ask the supervisor and the receiver about it
"""
