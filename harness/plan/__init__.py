"""What a run is to do, before it starts: scenarios, drawn schedules, gambits, recorded schedules."""
