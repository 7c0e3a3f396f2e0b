package awo

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"net/http"
	"net/url"
	"strconv"
	"time"
)

// Wait and Follow survive connections that break, a service that restarts and 429: after maxAttempts in a row
// without progress, a minute of pauses, they return the last error. Their context bounds them, not the run.
// The stream of events has a comment every 15 s; one that is silent for silenceLimit is broken.
const maxAttempts, heldLongEnough, silenceLimit = 6, 10 * time.Second, time.Minute

// Event is an event of a run. Raw is its whole JSON, as RunCompletedEvent and the other types read it.
type Event struct {
	Sequence int32
	Type     string
	Raw      []byte `json:"-"`
}

// persist repeats an attempt until it is done or fails as no other attempt can repair.
func persist(ctx context.Context, attempt func() (bool, *http.Response, error)) error {
	for failures := 0; ; {
		began := time.Now()
		done, response, err := attempt()
		if done {
			return err
		} else if failures++; err == nil || time.Since(began) > heldLongEnough {
			failures = 0
		}
		_, answered := err.(*GenericOpenAPIError)
		if answered && response != nil && response.StatusCode < 500 && response.StatusCode != 429 || failures >= maxAttempts {
			return err
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(time.Second << failures):
		}
	}
}

// Wait returns the run once it has ended.
func Wait(ctx context.Context, client *APIClient, id string) (run *Run, err error) {
	err = persist(ctx, func() (done bool, response *http.Response, err error) {
		run, response, err = client.RunsAPI.GetRun(ctx, id).Execute()
		return err == nil && run.CompletedAt != nil, response, err
	})
	return run, err
}

// Follow calls handle with each event after the sequence once, in order, until the run has ended.
func Follow(ctx context.Context, client *APIClient, id string, after int32, handle func(Event) error) error {
	return persist(ctx, func() (bool, *http.Response, error) {
		ctx, cancel := context.WithCancel(ctx)
		defer cancel()
		silence, first := time.AfterFunc(silenceLimit, cancel), after
		base, err := client.cfg.ServerURLWithContext(ctx, "RunsAPIService.ListRunEvents")
		if err != nil {
			return true, nil, err
		}
		headers := map[string]string{"Accept": "text/event-stream", "Last-Event-ID": strconv.Itoa(int(after))}
		request, err := client.prepareRequest(ctx, base+"/v1/runs/"+url.PathEscape(id)+"/events", "GET", nil, headers, nil, nil, nil)
		if err != nil {
			return true, nil, err
		}
		response, err := client.callAPI(request)
		if err != nil {
			return false, nil, err
		}
		defer response.Body.Close()
		for lines := bufio.NewReader(response.Body); response.StatusCode == 200; silence.Reset(silenceLimit) {
			line, err := lines.ReadBytes('\n')
			if err != nil && after > first {
				return false, nil, nil
			} else if err != nil {
				return false, nil, err
			}
			event := Event{Raw: bytes.TrimPrefix(line, []byte("data:"))}
			if len(event.Raw) == len(line) || json.Unmarshal(event.Raw, &event) != nil {
				continue
			}
			after, err = event.Sequence, handle(event)
			if err != nil || event.Type == "run.completed" || event.Type == "run.failed" || event.Type == "run.cancelled" {
				return true, nil, err
			}
		}
		if response.StatusCode == 204 {
			return true, nil, nil
		}
		return false, response, &GenericOpenAPIError{error: response.Status}
	})
}
