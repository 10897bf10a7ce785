// Command linearizability reads a history of operations on objects, a JSON object per line, and says whether each
// object's history is linearizable. Its states are contents, each of which is written at most once; an object that is
// absent has the content "".
package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"time"

	"github.com/anishathalye/porcupine"
)

type operation struct {
	Key string `json:"key"`
	// read, or write: replace the content From with To.
	Kind string `json:"kind"`
	From string `json:"from"`
	To   string `json:"to"`
	// done, refused (the content was another) or unknown.
	Outcome string `json:"outcome"`
	Call    int64  `json:"call"`
	Return  int64  `json:"return"`
}

var model = porcupine.NondeterministicModel{
	Init: func() []any { return []any{""} },
	Step: func(state, input, _ any) []any {
		op := input.(operation)
		holds := state.(string) == op.From
		switch {
		case op.Kind == "read" && holds:
			return []any{state}
		case op.Kind == "write" && op.Outcome == "done" && holds:
			return []any{op.To}
		case op.Kind == "write" && op.Outcome == "refused" && !holds:
			return []any{state}
		case op.Kind == "write" && op.Outcome == "unknown" && holds:
			return []any{state, op.To}
		case op.Kind == "write" && op.Outcome == "unknown":
			return []any{state}
		}
		return nil
	},
	Partition: func(history []porcupine.Operation) [][]porcupine.Operation {
		keys := map[string][]porcupine.Operation{}
		for _, op := range history {
			key := op.Input.(operation).Key
			keys[key] = append(keys[key], op)
		}
		var parts [][]porcupine.Operation
		for _, part := range keys {
			parts = append(parts, part)
		}
		return parts
	},
}

func main() {
	file, err := os.Open(os.Args[1])
	if err != nil {
		fmt.Println(err)
		os.Exit(2)
	}
	defer file.Close()
	var history []porcupine.Operation
	lines := bufio.NewScanner(file)
	for lines.Scan() {
		var op operation
		if err := json.Unmarshal(lines.Bytes(), &op); err != nil {
			fmt.Println(err)
			os.Exit(2)
		}
		history = append(history, porcupine.Operation{Input: op, Call: op.Call, Return: op.Return})
	}
	if err := lines.Err(); err != nil {
		fmt.Println(err)
		os.Exit(2)
	}
	checked := model.ToModel()
	objects, wrong := 0, 0
	for _, part := range model.Partition(history) {
		objects++
		if result := porcupine.CheckOperationsTimeout(checked, part, 5*time.Minute); result != porcupine.Ok {
			wrong++
			fmt.Printf("%s: %s\n", part[0].Input.(operation).Key, result)
		}
	}
	fmt.Printf("%d operations on %d objects, %d not linearizable\n", len(history), objects, wrong)
	if wrong > 0 {
		os.Exit(1)
	}
}
