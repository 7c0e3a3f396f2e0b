// One whole scenario with the generated Go client.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"scenario/awo"
)

func must[T any](value T, what string, err error) T {
	if err != nil {
		body := ""
		if answered, is := err.(*awo.GenericOpenAPIError); is {
			body = string(answered.Body())
		}
		panic(fmt.Sprintf("%s: %v %s", what, err, body))
	}
	return value
}

func check(holds bool, what any) {
	if !holds {
		text, _ := json.Marshal(what)
		panic(string(text))
	}
}

func main() {
	configuration := awo.NewConfiguration()
	configuration.Servers = awo.ServerConfigurations{{URL: os.Getenv("AWO_URL")}}
	client := awo.NewAPIClient(configuration)
	ctx := context.WithValue(context.Background(), awo.ContextAccessToken, os.Getenv("AWO_API_KEY"))

	profile := awo.NewCreateProfileRequest("go-client")
	limits := awo.NewExecutionLimitsInput()
	limits.SetMaxCredits(50)
	profile.SetExecutionLimits(*limits)
	created, _, err := client.ProfilesAPI.CreateProfile(ctx).CreateProfileRequest(*profile).Execute()
	check(must(created, "create a profile", err).Data.Name == "go-client", created)
	view, _, err := client.ProfilesAPI.GetProfile(ctx, "go-client").Resolve(true).Execute()
	resolved := must(view, "resolve a profile", err).Data.ResolvedProfile
	check(resolved != nil && len(resolved.ConfigHash) == 64, view)

	source := awo.GitSourceInputAsWorkspaceSourceInput(awo.NewGitSourceInput(os.Getenv("AWO_REPOSITORY"), "git"))
	request := awo.NewCreateWorkOrderRequest(source)
	request.SetTaskPrompt("Write the missing file.")
	request.SetHarness("go-client")
	agent := awo.NewAgentInput(awo.AGENTTYPE_COMMAND)
	agent.SetCommand([]string{"sh", "-c", "echo done > fixed.txt"})
	request.SetAgent(*agent)
	order, answer, err := client.WorkOrdersAPI.CreateWorkOrder(ctx).CreateWorkOrderRequest(*request).IdempotencyKey("go-1").Execute()
	must(order, "create a work order", err)
	check(answer.Header.Get("Location") == "/v1/work-orders/"+order.Id, answer.Header)

	flakyWay := awo.NewConfiguration()
	flakyWay.Servers = awo.ServerConfigurations{{URL: os.Getenv("AWO_FLAKY_URL")}}
	flaky := awo.NewAPIClient(flakyWay)
	limited, stop := context.WithTimeout(ctx, 2*time.Minute)
	defer stop()
	var followed []awo.Event
	must(0, "follow the run", awo.Follow(limited, flaky, order.RunId, 0, func(event awo.Event) error {
		followed = append(followed, event)
		return nil
	}))
	run, err := awo.Wait(limited, flaky, order.RunId)
	must(run, "wait for the run", err)
	check(run.Status == awo.RUNSTATUS_SUCCEEDED && run.Verified, run)

	page, _, err := client.RunsAPI.ListRunEvents(ctx, run.RunId).Execute()
	events := must(page, "list the events", err).Events
	check(len(followed) == len(events), followed)
	for index, event := range followed {
		check(int(event.Sequence) == index+1, followed)
	}
	var completed awo.RunCompletedEvent
	must(0, "read the last event", json.Unmarshal(followed[len(followed)-1].Raw, &completed))
	check(completed.Data.Verified, completed)
	last := events[len(events)-1].RunCompletedEvent
	check(last != nil && last.Data.Verified, events[len(events)-1])
	diff, _, err := client.RunsAPI.GetRunDiff(ctx, run.RunId).Execute()
	check(strings.Contains(must(diff, "get the diff", err).Diff, "fixed.txt"), diff)
	balance, _, err := client.CreditsAPI.GetCredits(ctx).Execute()
	check(must(balance, "get the credits", err).Available > 0, balance)

	hook := awo.NewCreateWebhookRequest([]awo.WebhookEventType{awo.WEBHOOKEVENTTYPE_RUN_COMPLETED}, "https://hooks.example.com/go")
	webhook, _, err := client.WebhooksAPI.CreateWebhook(ctx).CreateWebhookRequest(*hook).Execute()
	must(webhook, "create a webhook", err)
	// The optional body is left out: this client sends `null`.
	rotated, _, err := client.WebhooksAPI.RotateWebhookSecret(ctx, webhook.Webhook.Id).Execute()
	check(must(rotated, "rotate the secret", err).Secret != webhook.Secret, "a new secret")
	_, err = client.WebhooksAPI.DeleteWebhook(ctx, webhook.Webhook.Id).Execute()
	must(0, "delete the webhook", err)

	_, err = awo.Wait(ctx, client, order.RunId[:len(order.RunId)-4]+"0000")
	check(err != nil && strings.Contains(err.Error(), "404"), err)
	agent.SetCommand([]string{"sh", "-c", "sleep 600"})
	request.SetAgent(*agent)
	sleeping, _, err := client.WorkOrdersAPI.CreateWorkOrder(ctx).CreateWorkOrderRequest(*request).Execute()
	must(sleeping, "create a work order that sleeps", err)
	short, end := context.WithTimeout(ctx, time.Second)
	defer end()
	_, err = awo.Wait(short, client, sleeping.RunId)
	check(errors.Is(err, context.DeadlineExceeded), fmt.Sprint(err))
	err = awo.Follow(short, client, sleeping.RunId, 0, func(awo.Event) error { return nil })
	check(errors.Is(err, context.DeadlineExceeded), fmt.Sprint(err))
	_, _, err = client.RunsAPI.CancelRun(ctx, sleeping.RunId).Execute()
	must(0, "cancel the run that sleeps", err)
	run, err = awo.Wait(limited, client, sleeping.RunId)
	check(must(run, "wait for its end", err).Status == awo.RUNSTATUS_CANCELED, run)

	_, answer, err = client.WorkOrdersAPI.GetWorkOrder(ctx, order.Id[:len(order.Id)-4]+"0000").Execute()
	check(err != nil && answer.StatusCode == 404, answer)
	failed := err.(*awo.GenericOpenAPIError).Model().(awo.ApiError)
	check(failed.Error.Code == awo.ERRORCODE_WORK_ORDER_NOT_FOUND, failed)
	fmt.Printf("go: %s succeeded, %d events\n", order.Id, len(events))
}
