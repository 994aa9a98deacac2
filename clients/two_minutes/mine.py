import sys

from elapse import Client, Worker

client = Client(sys.argv[1])
client.put("mails", {"to": "ann"}, in_="10ms")
worker = Worker(client)


@worker.handler("mails")
def send(job):
    print("a mail to", job.json()["to"])
    worker.stop()


worker.run()
