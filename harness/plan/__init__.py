"""Plans a run before it starts: scenarios, random schedules, gambits, recorded schedules."""
